"""What a session needs before it can boot: an engine environment and a model directory."""

"""A recording that others made (client results, telemetry, server log, a small manifest) as a session of a booking.

recording   reads the manifest        clock       puts the client's clock and the node's on one time
session     writes the raw folder, in the form that measuring leaves
"""

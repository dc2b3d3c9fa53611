"""`benchbook load`: the load client by itself, on any server that speaks the OpenAI or SGLang form.

`asked` turns the command line into a Load, `server` asks the server what it serves, `bar` shows progress, `files`
writes result.json and the tables, `printed` shows the result. The client itself is measure/client.
"""

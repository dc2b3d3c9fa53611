"""A benchmark result of anyone's making, read honestly: what it says, what is wrong with it, what it cannot say.

    load        a file to results (json_result, text_result: one reader a form)
    figures     a result to its metrics, by derive's own functions
    clock       when on the node's clock it ran; gpu_use and server_log need it
    findings    the metrics to tags, warnings and what could not be checked
    verdict     tags to what may be claimed (method.md 10, for a single run)
    examine     all of it, as the object that --json prints; printed writes it for people
"""

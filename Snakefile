# `include:` would not carry the default target (report) over, so that a bare `snakemake` would do nothing.
workflow.include("workflow/Snakefile", overwrite_default_target=True)

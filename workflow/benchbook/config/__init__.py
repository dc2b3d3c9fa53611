"""Config files: read strictly, checked against workflow/schemas/, and handed on as frozen records."""

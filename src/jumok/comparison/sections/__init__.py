"""The sections of a report's page, from the answer to the details."""

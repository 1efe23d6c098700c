"""The explorer's page, the OpenAPI document, and health."""

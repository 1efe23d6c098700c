"""Documents over HTTP: a file comes in, is translated as a job, looked at, mended and fetched."""

"""One file per format of signals: a file in, what it states out (`Stored`). Imported by cards alone."""

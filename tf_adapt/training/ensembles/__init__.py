"""Several finished runs as one model: averaged answers, votes, averaged weights."""

"""The ways to get an encoder from a verified module, one a file: `hub_modules.load` chooses."""

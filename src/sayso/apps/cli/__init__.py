"""The command line. Commands are imported when they are called, so that none pays for another's start."""

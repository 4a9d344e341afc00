"""Outside agents come in here, by four protocols and one path that all of them share."""

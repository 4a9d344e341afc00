"""What a receipt log is: values in, bytes or a verdict out. Nothing in here reaches a store, a file or a clock."""

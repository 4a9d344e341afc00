"""What each envelope type carries: closed Structs, a file a subject, named as the schemas name them."""

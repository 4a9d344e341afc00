"""The provider profile over our own pipes and over HTTP, and from the asking side."""

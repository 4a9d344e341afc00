"""One layer that every act passes: what class it is, who agreed to it, and what the receipts say."""

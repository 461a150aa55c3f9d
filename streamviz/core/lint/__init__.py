"""Wire lint: what upstream sent that its format does not allow. A module for each format has its rules by name."""

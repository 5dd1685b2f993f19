"""The encoders that a method can pretrain, one file each."""

"""The engine `slurm`: pretrainings and batches of cells become jobs of a SLURM cluster, through submitit.

In: an order (benchmark.run.engines.engine). Out: jobs in the cluster's queue, and each task as the store shows its end.
Imported by benchmark.run.engines.registry, and by the verb `status` for what is in the queue.
"""

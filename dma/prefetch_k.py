from dma.prefetch_greedy import POLICY

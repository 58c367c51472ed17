"""Operations and layers: what each takes, in time, power, energy and memory, and what a network takes as their sum.

::

    Network ──► steps (fusion) ──► Operation table ──► OperationPredictor ──► NetworkCost
    measured tables ───────────────────────┘ fit             ▲
    PALEO, template matching, roofline ──────────────────────┘ the same interface

* `operations`, `rewrites`, `workloads`: layers → operations with counts, by stated fusion rules;
* `quantities`, `algorithms`, `predictors`, `rivals`: operations → predicted labels;
* `loops`, `stand_ins`, `sums`, `fitting`: operations measured alone → networks;
* `singles`, `sampling`, `measuring`, `measurements`: which operations to measure, where, and what came out;
* `study`, `held_out`, `hints`: how many are enough, how far the rest is off, and which are slower than their like;
* `physical`, `corrected`: what a GPU's data sheet explains, and what one GPU's measurements add to it;
* `hardware_features`, `crossing`: from measured GPUs to others;
* `shares`, `layer_table`: layers of a network as a table; on a Jetson, where whole networks alone were measured, as
  shares;
* `clocks`, `sweeps`: time, power and energy over GPU clocks, and the best clock; networks over measured clocks;
* `tables`: published measurements in one form.
"""

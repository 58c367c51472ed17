"""Operations and layers: what each takes, in time, power, energy and memory, and what a network takes as their sum.

::

    Network ──► steps (fusion) ──► Operation table ──► OperationPredictor ──► NetworkCost
    measured tables ───────────────────────┘ fit             ▲
    PALEO, template matching, roofline ──────────────────────┘ the same interface

* `operations`, `workloads`: layers → operations with counts, by stated fusion rules;
* `quantities`, `algorithms`, `predictors`, `rivals`: operations → predicted labels;
* `loops`, `sums`, `fitting`: operations measured alone → networks;
* `shares`: layers of a network on a Jetson, where only whole networks were measured;
* `clocks`: time, power and energy over GPU clocks, and the best clock;
* `tables`: published measurements in one form.
"""

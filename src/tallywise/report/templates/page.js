"use strict";
(() => {
  const data = JSON.parse(document.getElementById("thresholds").textContent);
  const slider = document.getElementById("slider");
  if (!slider || !data.length) return;
  const percent = (x) => (100 * x).toFixed(2) + " %";
  const show = () => {
    const [threshold, lost, caught, flagged] = data[Number(slider.value)];
    document.getElementById("at").textContent = threshold.toFixed(4);
    document.getElementById("lost").textContent = percent(lost);
    document.getElementById("caught").textContent = percent(caught);
    document.getElementById("flagged").textContent = percent(flagged);
  };
  slider.max = data.length - 1;
  slider.addEventListener("input", show);
  show();
})();

"use strict";
(() => {
  const percent = (value) => (value === null ? "\u2013" : (100 * value).toFixed(2) + "%");
  const whole = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(4));

  // The threshold that is read off: by slider, by arrow keys, or by a pointer over the pictures.
  const source = document.getElementById("sweep");
  const panel = document.querySelector(".slider");
  if (source && panel) {
    const sweep = JSON.parse(source.textContent);
    const slider = panel.querySelector("input");
    const output = panel.querySelector("output");
    const from = sweep.thresholds[0];
    const to = sweep.thresholds[sweep.thresholds.length - 1];
    const pictures = [...document.querySelectorAll(".readable")].map((holder) => {
      const svg = holder.querySelector("svg");
      const [left, top, width, height] = holder.dataset.plot.split(" ").map(Number);
      const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      line.setAttribute("class", "frame");
      line.setAttribute("stroke-width", "2");
      svg.append(line);
      return { svg, left, top, width, height, line };
    });

    const part = (name, value, small) => {
      const span = document.createElement("span");
      const number = document.createElement("b");
      number.textContent = value;
      span.append(name + " ", number);
      if (small) {
        const note = document.createElement("small");
        note.textContent = " " + small;
        span.append(note);
      }
      return span;
    };
    const show = (place) => {
      const threshold = sweep.thresholds[place];
      const parts = [part("threshold", String(threshold), place === sweep.shipped ? "ships" : "")];
      for (const rate of sweep.rates) {
        const ends = rate.intervals[place];
        const small = ends ? percent(ends[0]) + " to " + percent(ends[1]) : "";
        parts.push(part(rate.name, percent(rate.values[place]), small));
      }
      parts.push(part("caught", whole(sweep.true_positives[place]), "of " + whole(sweep.positives)));
      parts.push(part("false alarms", whole(sweep.false_positives[place]), "of " + whole(sweep.negatives)));
      output.replaceChildren(...parts);
      slider.value = place;
      const rates = sweep.rates.map((rate) => rate.name + " " + percent(rate.values[place])).join(", ");
      slider.setAttribute("aria-valuetext", "threshold " + threshold + ": " + rates);
      for (const { left, top, width, height, line } of pictures) {
        const x = left + (width * (threshold - from)) / (to - from || 1);
        line.setAttribute("d", "M" + x + " " + top + "v" + height);
      }
    };
    const nearest = (threshold) => {
      let low = 0;
      let high = sweep.thresholds.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (sweep.thresholds[middle] < threshold) low = middle + 1;
        else high = middle;
      }
      const below = Math.max(0, low - 1);
      return threshold - sweep.thresholds[below] < sweep.thresholds[low] - threshold ? below : low;
    };
    for (const { svg, left, width } of pictures) {
      const read = (event) => {
        const box = svg.getBoundingClientRect();
        const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
        const share = Math.min(1, Math.max(0, (x - left) / width));
        show(nearest(from + share * (to - from)));
      };
      svg.addEventListener("pointermove", read);
      svg.addEventListener("pointerdown", read);
    }
    slider.addEventListener("input", () => show(Number(slider.value)));
    panel.querySelector("button").addEventListener("click", () => show(sweep.shipped));
    panel.hidden = false;
    show(sweep.shipped);
  }
})();

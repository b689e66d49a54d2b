"use strict";
(() => {
  // Tables can be copied with the numbers in full.
  for (const table of document.querySelectorAll("table")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the table: " + table.caption.textContent.trim());
    button.addEventListener("click", async () => {
      const cell = (one) => {
        const number = one.querySelector("data");
        return number ? number.value : one.textContent.trim();
      };
      const rows = [...table.rows].map((row) => [...row.cells].map(cell).join("\t"));
      try {
        await navigator.clipboard.writeText(rows.join("\n") + "\n");
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(table);
        button.textContent = "Selected: copy it";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    table.caption.append(button);
  }
})();

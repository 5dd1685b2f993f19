// Figures fit the page or have their full size; what is folded is printed.
"use strict";

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.className === "paper") button.ariaPressed = String(button.ariaPressed !== "true");
});
window.addEventListener("beforeprint", () => {
  for (const footers of document.querySelectorAll(".footers")) footers.open = true;
});

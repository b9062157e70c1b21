// Before the first paint: the theme and density that somebody chose on this device.
(() => {
  try {
    const chosen = JSON.parse(localStorage.getItem("bullpen.look") || "{}");
    if (chosen.theme === "light" || chosen.theme === "dark") document.documentElement.dataset.theme = chosen.theme;
    if (chosen.density === "compact") document.documentElement.dataset.density = "compact";
  } catch {
    // Nothing was chosen, or it cannot be read: the system's own.
  }
})();

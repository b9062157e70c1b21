// Theme and density of this device. theme.js applies them before the first paint.
import { keep, kept } from "../live/kept";

export type Theme = "light" | "dark" | "system";
export type Look = { theme?: Theme; density?: "comfortable" | "compact" };

export const look = (): Look => kept<Look>("look", {});

export function setTheme(theme: Theme): void {
  keep("look", { ...look(), theme });
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setDensity(density: "comfortable" | "compact"): void {
  keep("look", { ...look(), density });
  if (density === "compact") document.documentElement.dataset.density = "compact";
  else delete document.documentElement.dataset.density;
}

export function shownTheme(): "light" | "dark" {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

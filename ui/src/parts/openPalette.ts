export function openPalette(): void {
  window.dispatchEvent(new Event("bullpen:palette"));
}

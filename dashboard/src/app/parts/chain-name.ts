/** `polygon` → Polygon. */
export function chainName(chain: string): string {
  return chain.charAt(0).toUpperCase() + chain.slice(1).replaceAll("_", " ");
}

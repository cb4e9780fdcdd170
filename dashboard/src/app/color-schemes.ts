import { localStorageColorSchemeManager } from "@mantine/core";

/** Kept under the name that color-scheme.ts reads before the first paint. */
export const colorSchemes = localStorageColorSchemeManager({ key: "color-scheme" });

import { nearest } from "../http/nearest.ts";
import { secretFileName } from "./secret-file-settings.ts";
import type { Setting } from "./setting-kinds.ts";
import { SETTINGS } from "./settings.ts";

/** Not read by the service, but known: programs that use the SDK find the service with it. */
const OTHERS = ["SLIPROAD_URL"];

/** The beginning of a sentence for each variable that looks like a setting but is none. */
export function unknownSettings(environment: Record<string, string | undefined>): string[] {
  const settings: Setting<unknown>[] = Object.values(SETTINGS);
  const known = settings.flatMap(({ name, is_secret }) =>
    is_secret ? [name, secretFileName(name)] : [name],
  );
  return Object.keys(environment)
    .filter((name) => name.startsWith("SLIPROAD_") && ![...known, ...OTHERS].includes(name))
    .map((name) => {
      const meant = nearestSetting(name, known);
      return `${name} is not a known setting${meant ? ` (did you mean ${meant}?)` : ""}`;
    });
}

/** Compares without the common prefix, which would make every name look similar. */
function nearestSetting(name: string, known: readonly string[]): string | undefined {
  const bare = (text: string) => text.replace(/^SLIPROAD_/, "");
  const meant = nearest(bare(name), known.map(bare));
  return known.find((setting) => bare(setting) === meant);
}

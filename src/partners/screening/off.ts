import type { ScreeningPort } from "./port.ts";

/** Without a list: everybody is clear, and nothing is stored about it. */
export const SCREENING_OFF: ScreeningPort = {
  lists: () => null,
  screen: () => [],
  isListed: () => false,
  problem: () => null,
  reload: async () => false,
};

import type { MetricSource } from "../platform/metrics/model.ts";
import { COUNTED } from "../platform/metrics/model.ts";
import { countOpenMatches, findState } from "./store.ts";

export const screeningMetrics: MetricSource = {
  gauges: [
    {
      name: "sliproad_screening_matches_open",
      help: `Screening matches that wait for a reviewer, by verdict (${COUNTED}).`,
      label: "verdict",
    },
    {
      name: "sliproad_screening_left",
      help: "Users that are not yet screened against the lists in use.",
    },
    {
      name: "sliproad_screening_list_broken",
      help: "1 while a screening list cannot be loaded and the previous one stays in use.",
    },
  ],
  read: async (session) => {
    const [open, state] = await Promise.all([countOpenMatches(session), findState(session)]);
    const left =
      state && state.finished_at === null ? Math.max(0, state.people_count - state.done_count) : 0;
    const name = "sliproad_screening_matches_open";
    return [
      { name, label: "possible_match", value: open.possible_match },
      { name, label: "match", value: open.match },
      { name: "sliproad_screening_left", value: left },
      { name: "sliproad_screening_list_broken", value: state?.problem ? 1 : 0 },
    ];
  },
};

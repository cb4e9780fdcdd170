import { integer, matching, optional, words } from "./setting-kinds.ts";

/** Whom and what Sliproad compares with lists of what must not pass. */
export const SCREENING_SETTINGS = {
  clamd: optional(
    "SLIPROAD_CLAMD",
    "Where clamd listens, as `host:port` or as the path of its socket: every uploaded file is " +
      "checked for malware before it is stored; while clamd does not answer, uploads are refused " +
      "with 503. Default: files are not checked.",
    matching(/^(\/.+|[^/:]+:\d{1,5})$/, "must be host:port or the absolute path of a socket"),
  ),
  screening_lists: {
    name: "SLIPROAD_SCREENING_LISTS",
    default_text: "",
    meaning:
      "Files of sanctions lists, separated by commas: OFAC's `sdn.csv` (with `alt.csv` and " +
      "`add.csv` beside it) or `sdn.xml`, the consolidated XML of the EU or the UN, " +
      "OpenSanctions' `targets.simple.csv`. Empty: nobody is screened. Read again when they " +
      "change.",
    read: words,
  },
  screening_possible_percent: integer(
    "SLIPROAD_SCREENING_POSSIBLE_PERCENT",
    70,
    100,
    85,
    "How similar a person must be to an entry of a list for a reviewer to decide.",
  ),
  screening_match_percent: integer(
    "SLIPROAD_SCREENING_MATCH_PERCENT",
    70,
    100,
    95,
    "How similar the names must be for a match, if also the birth date (of a company: the " +
      "country) agrees.",
  ),
} as const;

import { styleText } from "node:util";

type Style = "bold" | "dim" | "green" | "red" | "cyan";
export type Paint = (style: Style, text: string) => string;

/** Colours for a person at a terminal only: not in files or pipes, nor where NO_COLOR is set. */
export function openColours(
  stream: { isTTY?: boolean },
  environment: Record<string, string | undefined>,
): Paint {
  const is_wanted = stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== "dumb";
  // The stream was judged above; Node's own check would look at another one.
  return is_wanted ? (style, text) => styleText(style, text, { validateStream: false }) : plain;
}

const plain: Paint = (_style, text) => text;

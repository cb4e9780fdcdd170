import { styleText } from "node:util";

type Style = "bold" | "dim" | "green" | "red" | "cyan";
export type Paint = (style: Style, text: string) => string;

/** Colours only on a terminal: not in files or pipes, nor where NO_COLOR is set. */
export function openColours(
  stream: { isTTY?: boolean },
  environment: Record<string, string | undefined>,
): Paint {
  const is_wanted = stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== "dumb";
  // The stream was checked above; Node's own check would use another one.
  return is_wanted ? (style, text) => styleText(style, text, { validateStream: false }) : plain;
}

const plain: Paint = (_style, text) => text;

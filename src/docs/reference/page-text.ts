const MARKDOWN_NOTE = "<!-- Written by npm run generate; change the table in the code instead. -->";

/** A generated page of the reference. */
export function page(title: string, parts: readonly string[]): string {
  return `${[MARKDOWN_NOTE, `# ${title}`, ...parts].join("\n\n")}\n`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${" --- |".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

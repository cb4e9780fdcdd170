import { Argument, type Command, Option } from "commander";
import { type EventName, INVOICE_EVENTS, RAMP_EVENTS } from "../../events/model.ts";
import { nearest } from "../../platform/http/nearest.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { type ApiOptions, openApiClient, withApiOptions } from "../api-client.ts";
import { type JsonOption, print } from "../output.ts";
import { type Story, storyOf, TRIGGER_STATUSES } from "./stories.ts";

type TriggerOptions = ApiOptions & JsonOption & { status?: string };

export const EVENT_NAMES: readonly EventName[] = [...RAMP_EVENTS, ...INVOICE_EVENTS];

export function addTriggerCommand(program: Command): void {
  withApiOptions(program.command("trigger"))
    .description(
      "create a record in the sandbox and move it to a status, so that its events are sent",
    )
    .addArgument(new Argument("[event]", "the event").choices(EVENT_NAMES))
    .addOption(
      // For completion; which states an event has is checked below.
      new Option("--status <status>", "the status to reach (see the list below)")
        .choices(TRIGGER_STATUSES)
        .argParser(String),
    )
    .addHelpText("after", () => `\n${choiceLines().join("\n")}`)
    .action(async (event: EventName | undefined, options: TriggerOptions) => {
      if (event === undefined) return print(options, { events: choices() }, choiceLines());
      const story = storyOf(event);
      const status = readStatus(event, story, options.status);
      const { record, id } = await story.play(await openApiClient(options), status);
      const then = story.goes_on?.[status];
      const line = `${record} ${id} was created and moved to ${status}${then ? `; ${then}` : ""}.`;
      print(options, { triggered: { event, status, record, id } }, [line]);
    });
}

/** Every event with the states that can be requested, the default first. */
function choiceLines(): string[] {
  const width = Math.max(...EVENT_NAMES.map((name) => name.length));
  return [
    "Events and their values of --status (the first is the default):",
    ...EVENT_NAMES.map((name) => `  ${name.padEnd(width)}  ${describeStory(storyOf(name))}`),
  ];
}

/** Without states where the event implies the final one. */
function choices() {
  return EVENT_NAMES.map((event) => {
    const story = storyOf(event);
    const { default_status } = story;
    const statuses = story.statuses.length === 0 ? [] : orderedStatuses(story);
    return { event, default_status, statuses };
  });
}

function describeStory(story: Story): string {
  if (story.statuses.length === 0) return `(an invoice that ends ${story.default_status})`;
  return orderedStatuses(story).join(", ");
}

function orderedStatuses({ statuses, default_status }: Story): string[] {
  return [default_status, ...statuses.filter((status) => status !== default_status)];
}

function readStatus(event: EventName, story: Story, wanted: string | undefined): string {
  const { statuses, default_status } = story;
  if (wanted === undefined) return default_status;
  if (statuses.includes(wanted)) return wanted;
  if (statuses.length === 0) {
    throw new StartupError(`${event} takes no --status: its invoice ends ${default_status}.`);
  }
  const suggested = nearest(wanted, statuses);
  const hint = suggested ? ` (did you mean ${suggested}?)` : "";
  throw new StartupError(
    `--status ${wanted} is not a state of ${event}${hint}; choose one of ${statuses.join(", ")}.`,
  );
}

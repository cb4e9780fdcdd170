import type { MailPort } from "../partners/mail/port.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { DashboardDeps } from "./load-dashboard.ts";
import { addOutboxPage } from "./mail/outbox-routes.ts";
import { sendMailTask } from "./mail/send-mail-task.ts";
import { addAccountPages } from "./routes.ts";
import { TRIM_SIGN_IN_TASK, trimSignInTask } from "./sign-in/tasks.ts";

/** Later modules provide their part of the dashboard in `later`. */
export function openAccountsModule(
  core: ModuleCore,
  needs: { mail: MailPort } & Pick<DashboardDeps, "existsPendingProposal" | "listApps">,
): Module {
  return {
    tasks: [sendMailTask({ ...core, ...needs }), trimSignInTask(core)],
    recurring: [TRIM_SIGN_IN_TASK],
    pages: (server) => {
      addAccountPages(server, { ...core, ...needs });
      if (core.mode === "sandbox") addOutboxPage(server, core);
    },
  };
}

import type { MailPort } from "../partners/mail/port.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { addOutboxPage } from "./mail/outbox-routes.ts";
import { sendMailTask } from "./mail/send-mail-task.ts";
import { noteOperatorActTask } from "./operator-acts.ts";
import { addAccountPages } from "./routes.ts";
import { endConsentsTask } from "./sign-in/end-consents.ts";
import { TRIM_SIGN_IN_TASK, trimSignInTask } from "./sign-in/tasks.ts";

export function openAccountsModule(core: ModuleCore, { mail }: { mail: MailPort }): Module {
  return {
    tasks: [
      sendMailTask({ ...core, mail }),
      trimSignInTask(core),
      endConsentsTask(core),
      noteOperatorActTask(core),
    ],
    recurring: [TRIM_SIGN_IN_TASK],
    pages: (server) => {
      addAccountPages(server, core);
      if (core.mode === "sandbox") addOutboxPage(server, core);
    },
  };
}

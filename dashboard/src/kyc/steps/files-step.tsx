import { type FormEvent, type ReactNode, useState } from "react";
import { FileSlot } from "../parts/file-slot.tsx";
import { fileTitle } from "../parts/file-title.ts";
import { StepButtons } from "../parts/step-buttons.tsx";
import { StepFrame } from "../parts/step-frame.tsx";
import { useSession } from "../session.ts";
import { filesOf, missingOn, type StepName, stepAfter } from "../step-list.ts";

/** A step of files: company document, identity document, selfie. */
export function FilesStep(props: {
  step: StepName;
  title: string;
  lead: string;
  /** Shown before the files. */
  children?: ReactNode;
  are_files_open?: boolean;
  /** True when something other than a file is missing; that part shows its own message. */
  refuse?: () => boolean;
}) {
  const { step, title, lead, children, are_files_open = true, refuse } = props;
  const { state, go } = useSession();
  const [missing, setMissing] = useState<string[]>([]);

  function submit(event: FormEvent) {
    event.preventDefault();
    if (refuse?.()) return;
    const found = missingOn(state, step);
    setMissing(found);
    const [first] = found;
    if (first) document.getElementById(`slot-${first}`)?.focus();
    else go(stepAfter(state, step));
  }

  return (
    <StepFrame title={title} lead={lead} step={step}>
      <form noValidate onSubmit={submit}>
        {children}
        {are_files_open &&
          filesOf(state, step).map((slot) => (
            <FileSlot
              key={slot}
              slot={slot}
              title={fileTitle(state, slot)}
              missing={missing.includes(slot)}
            />
          ))}
        <StepButtons step={step} is_busy={false} />
      </form>
    </StepFrame>
  );
}

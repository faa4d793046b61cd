import { Button, UnstyledButton } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { Icon } from './icons.tsx'
import { commonMessages, useMessages } from './messages.tsx'

function useCopying(text: string): readonly [isCopied: boolean, copy: () => void] {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    const timer = isCopied ? setTimeout(() => setCopied(false), 1_500) : undefined
    return () => clearTimeout(timer)
  }, [isCopied])
  return [isCopied, () => void navigator.clipboard.writeText(text).then(() => setCopied(true))]
}

/** A button that copies a text and then says so for 1.5 s. */
export function Copy({ text }: { readonly text: string }) {
  const { t } = useMessages(commonMessages)
  const [isCopied, copy] = useCopying(text)
  const icon = <Icon name={isCopied ? 'check' : 'copy'} size={15} />
  return (
    <Button variant="default" size="xs" leftSection={icon} onClick={copy} aria-live="polite">
      {isCopied ? t.copied : t.copy}
    </Button>
  )
}

type CopyProps = { readonly text: string; readonly label: string }

/** A copy button, for a value that is shown inside or beside it. */
export function CopyIcon({ text, label, children }: CopyProps & { readonly children?: ReactNode }) {
  const { t } = useMessages(commonMessages)
  const [isCopied, copy] = useCopying(text)
  return (
    <UnstyledButton className="copyable" onClick={copy} aria-label={`${t.copy}: ${label}`} title={t.copy}>
      {children}
      <Icon name={isCopied ? 'check' : 'copy'} size={14} />
    </UnstyledButton>
  )
}

export const Copyable = ({ text, label }: CopyProps) => (
  <CopyIcon text={text} label={`${label} ${text}`}>
    <span className="mono">{text}</span>
  </CopyIcon>
)

/** Preformatted lines that the keyboard can scroll. */
export const Lines = ({ text, label, children }: CopyProps & { readonly children?: ReactNode }) => (
  <div className="listing">
    <pre tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
    {children}
  </div>
)

export const Listing = ({ text, label }: CopyProps) => (
  <Lines text={text} label={label}>
    <Copy text={text} />
  </Lines>
)

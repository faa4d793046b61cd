import { Button, type ButtonProps, Modal, type ModalProps } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { commonMessages, useMessages } from './messages.tsx'

export function Dialog(props: ModalProps) {
  const { t } = useMessages(commonMessages)
  return <Modal closeButtonProps={{ 'aria-label': t.close }} {...props} />
}

type DialogButtonProps = Readonly<{ label: string; look?: ButtonProps; children: (close: () => void) => ReactNode }>

export function DialogButton({ label, look, children }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <Button variant="default" {...look} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog opened={isOpen} onClose={close} title={label}>
        {children(close)}
      </Dialog>
    </>
  )
}

import { Button, PasswordInput, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { auth, forget, useWho } from '../client/session.ts'
import { accountMessages } from '../shared/account/messages.ts'
import { AccountPage } from '../shared/account/page.tsx'
import { Flag, Form, useTyped } from '../shared/form.tsx'
import { useMessages } from '../shared/messages.tsx'
import { Panel, RefusalNotice } from '../shared/parts.tsx'
import { useRead } from './api.ts'
import { NoticesPanel } from './notices.tsx'

export const CustomerAccount = () => (
  <AccountPage>
    <NoticesPanel />
    <LeavePanel />
  </AccountPage>
)

/** Deletes the account. A balance is given up only with its own checkbox. */
function LeavePanel() {
  const { t, format } = useMessages(accountMessages)
  const who = useWho()
  const balance = useRead('getBalance').data?.balance_rub ?? 0
  const password = useTyped()
  const [gives, setGives] = useState(false)
  const [isSure, setSure] = useState(false)
  const body = { give_up_balance: gives, ...(who?.has_password && { current_password: password.value }) }
  const erasure = useMutation({ mutationFn: () => auth.call('leave', { body }), onSuccess: () => forget() })
  return (
    <Panel title={t.leave} className="stack">
      <Text c="dimmed">{t.leaveAbout}</Text>
      <Form className="stack" onSubmit={erasure.mutate}>
        <Flag label={t.leaveSure} checked={isSure} onChange={setSure} />
        {balance > 0 && <Flag label={t.giveUp(format.exactMoney(balance))} checked={gives} onChange={setGives} />}
        {who?.has_password && (
          <PasswordInput label={t.currentPassword} autoComplete="current-password" maw="20rem" {...password.props} />
        )}
        <RefusalNotice error={erasure.error} />
        <div>
          <Button type="submit" color="red" variant="outline" disabled={!isSure} loading={erasure.isPending}>
            {t.leave}
          </Button>
        </div>
      </Form>
    </Panel>
  )
}

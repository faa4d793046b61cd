import { Button, Checkbox, PasswordInput, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { auth, recognise, useWho } from '../client/session.ts'
import { AccountPage } from '../shared/account/page.tsx'
import { accountWords } from '../shared/account/words.ts'
import { Form, useTyped } from '../shared/form.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Panel } from '../shared/parts.tsx'
import { RefusalNotice } from '../shared/refusal-notice.tsx'
import { useRead } from './api.ts'

export const CustomerAccount = () => (
  <AccountPage>
    <LeavePanel />
  </AccountPage>
)

/** Deletes the account. Money that is left is given up only by somebody who says so. */
function LeavePanel() {
  const words = useWords(accountWords)
  const format = useFormat()
  const who = useWho()
  const balance = useRead('getBalance').data?.balance_rub ?? 0
  const password = useTyped()
  const [gives, setGives] = useState(false)
  const [isSure, setSure] = useState(false)
  const leaving = useMutation({
    mutationFn: () =>
      auth.call('leave', {
        body: { give_up_balance: gives, ...(who?.has_password && { current_password: password.value }) },
      }),
    onSuccess: recognise,
  })
  return (
    <Panel title={words.leave} className="stack">
      <Text c="dimmed">{words.leaveAbout}</Text>
      <Form className="stack" onSubmit={leaving.mutate}>
        <Checkbox label={words.leaveSure} checked={isSure} onChange={(event) => setSure(event.currentTarget.checked)} />
        {balance > 0 && (
          <Checkbox
            label={words.giveUp(format.exactMoney(balance))}
            checked={gives}
            onChange={(event) => setGives(event.currentTarget.checked)}
          />
        )}
        {who?.has_password && (
          <PasswordInput
            label={words.currentPassword}
            autoComplete="current-password"
            maw="20rem"
            {...password.props}
          />
        )}
        <RefusalNotice error={leaving.error} />
        <div>
          <Button type="submit" color="red" variant="outline" disabled={!isSure} loading={leaving.isPending}>
            {words.leave}
          </Button>
        </div>
      </Form>
    </Panel>
  )
}

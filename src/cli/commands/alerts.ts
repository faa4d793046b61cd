import { listActivity } from '../../api/admin/activity/shapes.ts'
import * as alerts from '../../api/admin/alerts/shapes.ts'
import { type OperationCommand, over } from '../operation-command.ts'
import { secret } from '../print.ts'

type WithSecret = { readonly secret: string; readonly webhook_id: string }
const showSecret = ({ secret: text, webhook_id: id }: WithSecret): string[] =>
  secret(text, `It verifies the signatures of messages. The id of the endpoint is ${id}.`)

export const alertCommands: readonly OperationCommand[] = [
  over(listActivity, 'activity', {
    filled: 'wait seen',
    columns: 'at kind type customer_id customer_name order_id price_rub node data',
  }),
  over(alerts.listAlerts, 'alert list', { columns: 'type subject raised_at data' }),
  over(alerts.listAlertEndpoints, 'alert endpoints', { columns: 'webhook_id url events state problem' }),
  over(alerts.addAlertEndpoint, 'alert add', { args: 'url', show: showSecret }),
  over(alerts.updateAlertEndpoint, 'alert update', { show: (data) => `${data.url} is ${data.state}.` }),
  over(alerts.removeAlertEndpoint, 'alert remove', { show: (data) => `${data.webhook_id} is removed.` }),
  over(alerts.rotateAlertEndpoint, 'alert rotate', { show: showSecret }),
  over(alerts.testAlertEndpoint, 'alert test', {
    show: (data) => `The running shop sends it. "turnpike alert deliveries" shows the result of ${data.delivery_id}.`,
  }),
  over(alerts.listAlertDeliveries, 'alert deliveries', {
    columns: 'delivery_id created_at type status attempts answer_status problem',
  }),
  over(alerts.redeliverAlert, 'alert redeliver', { show: (data) => `${data.delivery_id} is ${data.status}.` }),
]

from simulator.hetzner.faults import Fault
from tests.simulator.hetzner.desk import Desk, code, ids_of


def test_an_error_changes_nothing_and_holds_as_often_as_it_says():
    desk = Desk()
    fault = desk.cloud.faults.append(Fault("create_server", "error", times=2, status=409, code="placement_error"))
    assert [code(desk.create()) for _ in range(2)] == [(409, "placement_error")] * 2
    assert desk.cloud.servers_of() == []
    desk.made()
    assert fault.met == 2


def test_a_fault_is_met_only_by_what_it_is_about():
    desk = Desk()
    desk.cloud.faults.append(Fault("create_server", "error", times=None, location="fsn1", code="server_error"))
    desk.cloud.faults.append(Fault("delete_server", "error", times=None, name="two", code="server_error"))
    assert code(desk.create()) == (500, "server_error")
    one, two = desk.running("one", location="nbg1"), desk.running("two", location="nbg1")
    assert desk.call("DELETE", f"/servers/{one}").status == 200
    assert code(desk.call("DELETE", f"/servers/{two}")) == (500, "server_error")


def test_a_fault_of_any_call_is_met_by_each():
    desk = Desk()
    fault = desk.cloud.faults.append(Fault("any", "error", times=None, status=503, code="unavailable"))
    assert code(desk.call("GET", "/pricing")) == (503, "unavailable")
    assert code(desk.create()) == (503, "unavailable")
    desk.cloud.faults.remove(fault)
    desk.made()


def test_a_lost_request_has_no_effect():
    desk = Desk()
    desk.cloud.faults.append(Fault("create_server", "lost_request"))
    assert desk.create().is_lost
    assert desk.cloud.servers_of() == []
    assert desk.cloud.count("create_server") == 1


def test_a_lost_answer_has_the_effect():
    desk = Desk()
    desk.cloud.faults.append(Fault("create_server", "lost_reply"))
    assert desk.create().is_lost
    assert code(desk.create()) == (409, "uniqueness_error")


def test_a_refused_call_does_not_use_up_the_loss_of_an_answer():
    desk = Desk()
    desk.cloud.faults.append(Fault("create_server", "lost_reply"))
    assert code(desk.create(image="nosuch")) == (422, "invalid_input")
    assert desk.create().is_lost


def test_an_error_after_the_effect_leaves_the_server():
    desk = Desk()
    desk.cloud.faults.append(Fault("create_server", "error_after", status=500, code="server_error"))
    assert code(desk.create()) == (500, "server_error")
    assert desk.names() == ["one"]


def test_a_late_effect_comes_at_its_moment():
    desk = Desk()
    desk.cloud.faults.append(Fault("create_server", "late", seconds=20))
    assert desk.create().is_lost
    desk.wait(19)
    assert desk.names() == []
    desk.wait(1)
    assert desk.names() == ["one"]
    desk.wait(32)
    assert desk.cloud.servers_of()[0].status == "running"


def test_a_creation_can_fail_after_it_was_accepted():
    desk = Desk()
    desk.cloud.faults.append(Fault("create_server", "action_error", code="resource_unavailable", message="no stock"))
    reply = desk.create()
    assert reply.status == 201
    desk.wait(30)
    actions = desk.actions(*ids_of(reply))
    assert {each["status"] for each in actions.values()} == {"error"}
    assert actions["create_server"]["error"] == {"code": "resource_unavailable", "message": "no stock", "details": {}}
    number = reply.body["server"]["id"]
    assert (desk.server(number)["status"], desk.server(number)["locked"]) == ("initializing", False)
    assert desk.call("DELETE", f"/servers/{number}").status == 200


def test_a_start_can_fail_and_leave_the_server_off():
    desk = Desk()
    fault = Fault("create_server", "action_error", command="start_server", code="server_error")
    desk.cloud.faults.append(fault)
    reply = desk.create()
    desk.wait(32)
    actions = desk.actions(*ids_of(reply))
    assert [each["status"] for each in actions.values()] == ["success", "error"]
    number = reply.body["server"]["id"]
    assert desk.server(number)["status"] == "off"
    desk.call("POST", f"/servers/{number}/actions/poweron")
    desk.wait(2)
    assert desk.server(number)["status"] == "running"


def test_an_attachment_can_fail_and_gives_the_address_back():
    desk = Desk()
    network = desk.cloud.add_network("inner")
    number = desk.running()
    desk.cloud.faults.append(Fault("attach_to_network", "action_error", code="server_error"))
    desk.call("POST", f"/servers/{number}/actions/attach_to_network", {"network": network})
    desk.wait(2)
    assert desk.server(number)["private_net"] == []
    assert desk.call("GET", f"/networks/{network}").body["network"]["servers"] == []


def test_a_deletion_can_fail_and_leaves_the_server_as_it_was():
    desk = Desk()
    number = desk.running()
    desk.cloud.faults.append(Fault("delete_server", "action_error", code="server_error"))
    action = desk.call("DELETE", f"/servers/{number}").body["action"]["id"]
    desk.wait(5)
    assert desk.actions(action)["delete_server"]["status"] == "error"
    (record,) = desk.cloud.servers_of()
    assert (record.status, record.running_since is not None) == ("running", True)


def test_an_action_can_be_slow():
    desk = Desk()
    desk.cloud.faults.append(Fault("create_server", "slow_action", seconds=720))
    reply = desk.create()
    desk.wait(360)
    assert desk.actions(*ids_of(reply))["create_server"]["progress"] == 50
    desk.wait(362)
    assert desk.server(reply.body["server"]["id"])["status"] == "running"


def test_a_deletion_can_be_stuck_until_its_fault_is_removed():
    desk = Desk()
    number = desk.running()
    fault = desk.cloud.faults.append(Fault("delete_server", "stuck_delete"))
    action = desk.call("DELETE", f"/servers/{number}").body["action"]["id"]
    desk.wait(600)
    assert desk.actions(action)["delete_server"]["status"] == "success"
    assert desk.server(number)["status"] == "deleting"
    # Asking again does not help.
    assert desk.call("DELETE", f"/servers/{number}").status == 200
    desk.wait(600)
    assert desk.names() == ["one"]
    desk.cloud.faults.remove(fault)
    assert desk.names() == []


def test_a_fresh_server_can_be_missing_from_lists():
    desk = Desk()
    desk.cloud.faults.append(Fault("list_servers", "hidden", seconds=10))
    number = desk.made()
    assert (desk.names(), desk.names(name="one")) == ([], [])
    assert desk.server(number)["name"] == "one"
    assert code(desk.create()) == (409, "uniqueness_error")
    desk.made("two")
    assert desk.names() == ["two"]
    desk.wait(10)
    assert desk.names() == ["one", "two"]


def test_faults_of_one_creation_add_up():
    desk = Desk()
    desk.cloud.faults.append(Fault("create_server", "slow_action", seconds=100))
    desk.cloud.faults.append(Fault("create_server", "hidden", seconds=5))
    desk.cloud.faults.append(Fault("create_server", "lost_reply"))
    assert desk.create().is_lost
    assert desk.names() == []
    desk.wait(99)
    assert desk.cloud.servers_of()[0].status == "initializing"
    desk.cloud.faults.clear()
    assert desk.names() == ["one"]


def test_an_error_without_a_code_has_no_body():
    desk = Desk()
    desk.cloud.faults.append(Fault("list_actions", "error", status=504))
    reply = desk.call("GET", "/actions", query=[("id", "1")])
    assert (reply.status, reply.body) == (504, None)

def test_it_left_nothing_on_the_host(host):
    assert not host.file("/home/lease/rekindle").exists
    assert host.run("ls -A /dev/shm /tmp | grep rekindle").stdout == ""
